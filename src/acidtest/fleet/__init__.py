"""Many machines: the cells of an experiment handed to hosts that are leased whole, by Dask.

``spec.py`` reads the fleet's file, ``cluster.py`` opens Dask on it, ``tasks.py`` is what Dask runs on a host,
``lab.py`` the process that measures there, ``host_client.py`` the client's side of a conversation with it, and
``conduct.py`` takes a plan to one journal. Dask is needed by all but the first and
``lab.py``; commands import them only where a fleet is asked for. Nothing is imported here: a worker takes ``tasks.py``
alone.
"""

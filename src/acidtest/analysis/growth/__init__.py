"""How a rate changes as the database grows: the curve, the loss per doubling, a knee, and what is to be expected.

A ``Series`` is made of recordings or of what somebody has published; everything else is concluded from it.
"""

"""An experiment becomes ordered cells with ids and seeds; pure."""

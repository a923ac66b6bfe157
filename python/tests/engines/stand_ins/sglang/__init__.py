"""A stand-in of SGLang: the classes and functions that the adapter touches, with their signatures. `compare_stand_ins.py` compares them with the real ones."""

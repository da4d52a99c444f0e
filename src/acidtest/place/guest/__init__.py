"""The place ``guest``: for a file system that this kernel lacks, a small virtual machine that has it."""

"""The experiments of Yang, Guo, Dong and Xue, run again: ours beside theirs."""

"""TraceLens on one trace: load and GPU breakdown."""

import sys

from TraceLens import TreePerfAnalyzer

print(TreePerfAnalyzer.from_file(sys.argv[1]).get_df_gpu_timeline())

"""The robot cell: an arm that follows a moving point while a scanner watches for visitors."""

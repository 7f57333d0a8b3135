"""What happened in a window, as numbers: stances, who reads whom, activity, cascades."""

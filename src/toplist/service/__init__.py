"""Ranks a live page over HTTP: serves lists, takes reports of clicks, and keeps everything through crashes."""

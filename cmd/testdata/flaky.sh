#!/bin/sh
# Works for a second and then, depending on the time of day, crashes, is killed or
# succeeds.
echo "working as process $$"
sleep 1
case $(($(date +%s) % 4)) in
0) echo "done"; exit 0 ;;
1) echo "shot" >&2; kill -KILL $$ ;;
*) echo "no luck" >&2; exit 1 ;;
esac

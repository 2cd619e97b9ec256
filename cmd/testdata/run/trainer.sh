# Ends busy twice, then with an error, then killed every time.
# $TRAINER_RUNS names the file that counts the runs.
runs=${TRAINER_RUNS:-/tmp/trainer-runs}
echo run >>"$runs"
case $(wc -l <"$runs") in
1 | 2) exit 75 ;;
3) exit 1 ;;
*) kill -KILL $$ ;;
esac

#!/bin/sh
# Ends the server, and starts it again with the same data: both hooks of a profile without a command.
#   url: http://127.0.0.1:3100
#   model: {hook: ./server.sh}
#   hooks: {restart: ./server.sh}
# PARLEY_KILL=1 asks for SIGKILL; PARLEY_MODEL_URL is where the model stub is.
cd "$(dirname "$0")" || exit 1
if [ -f server.pid ]; then
  signal=TERM; [ "$PARLEY_KILL" = 1 ] && signal=KILL
  pid=$(cat server.pid)
  kill -$signal "$pid"; while kill -0 "$pid" 2>/dev/null; do sleep 0.05; done
fi
[ -n "$PARLEY_MODEL_URL" ] && export OPENAI_BASE_URL="$PARLEY_MODEL_URL/v1"
python3 session_chat.py --port 3100 --db chat.db >>server.log 2>&1 &
echo $! >server.pid
until curl -sf http://127.0.0.1:3100/health >/dev/null; do sleep 0.05; done

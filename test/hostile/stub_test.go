package hostile_test

var rightRows, chatRows, frameRows, busRows, processRows, agentRows, hookRows, fileRows, commandRows, clientRows, pageRows []row

func bookingRows() []row { return nil }

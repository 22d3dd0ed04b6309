package hostile_test

var rightRows, hookRows, fileRows, commandRows, clientRows, pageRows []row

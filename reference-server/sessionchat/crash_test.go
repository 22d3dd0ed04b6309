package sessionchat
const childDB = "X"
func serveChild(string) {}

package wire

import "strconv"

const version = `{"jsonrpc":"2.0"`

// AppendResult appends a whole response line for id, newline included.
func AppendResult(dst, id, result []byte) []byte {
	dst = appendID(append(dst, version...), id)
	dst = append(append(dst, `,"result":`...), result...)
	return append(dst, '}', '\n')
}

// AppendError appends a whole error line for id (nil becomes null), newline
// included. data is raw JSON, nil for none. Invalid UTF-8 in msg is replaced.
func AppendError(dst, id []byte, code int, msg string, data []byte) []byte {
	dst = appendID(append(dst, version...), id)
	dst = append(dst, `,"error":{"code":`...)
	dst = strconv.AppendInt(dst, int64(code), 10)
	dst = AppendString(append(dst, `,"message":`...), msg)
	if data != nil {
		dst = append(append(dst, `,"data":`...), data...)
	}
	return append(dst, '}', '}', '\n')
}

// AppendRequest appends a whole request line; params may be nil.
func AppendRequest(dst, id []byte, method string, params []byte) []byte {
	return appendCall(appendID(append(dst, version...), id), method, params)
}

// AppendNotification appends a whole notification line; params may be nil.
func AppendNotification(dst []byte, method string, params []byte) []byte {
	return appendCall(append(dst, version...), method, params)
}

func appendCall(dst []byte, method string, params []byte) []byte {
	dst = AppendString(append(dst, `,"method":`...), method)
	if params != nil {
		dst = append(append(dst, `,"params":`...), params...)
	}
	return append(dst, '}', '\n')
}

func appendID(dst, id []byte) []byte {
	dst = append(dst, `,"id":`...)
	if id == nil {
		return append(dst, "null"...)
	}
	return append(dst, id...)
}

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// content is one item of a tool's result, as far as it is shown.
type content struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	Data     string `json:"data"`
	MimeType string `json:"mimeType"`
	URI      string `json:"uri"`
	Name     string `json:"name"`
	Resource struct {
		URI      string  `json:"uri"`
		MimeType string  `json:"mimeType"`
		Text     *string `json:"text"`
		Blob     string  `json:"blob"`
	} `json:"resource"`
}

// readResult reads a tool's result for people: its texts, and for each other item
// a line that says what it is. Pure.
func readResult(result []byte) (shown []string, failed bool, err error) {
	var r struct {
		Content    []json.RawMessage `json:"content"`
		Structured json.RawMessage   `json:"structuredContent"`
		IsError    bool              `json:"isError"`
	}
	if err := json.Unmarshal(result, &r); err != nil || string(result) == "null" {
		return nil, false, errors.New("what it answered is not a tool's result")
	}
	for _, raw := range r.Content {
		shown = append(shown, shownContent(raw))
	}
	if len(shown) == 0 && len(r.Structured) > 0 {
		shown = []string{string(r.Structured)}
	}
	return shown, r.IsError, nil
}

func shownContent(raw []byte) string {
	var c content
	if err := json.Unmarshal(raw, &c); err != nil {
		return "[content that cannot be read: see --json]"
	}
	switch c.Type {
	case "text":
		return strings.TrimSuffix(c.Text, "\n")
	case "image", "audio":
		return "[" + words(c.Type, c.MimeType, size(decoded(c.Data))) + "]"
	case "resource_link":
		return "[" + words("link", c.URI, c.Name, c.MimeType) + "]"
	case "resource":
		q := c.Resource
		n := decoded(q.Blob)
		if q.Text != nil {
			n = len(*q.Text)
		}
		return "[" + words("resource", q.URI, q.MimeType, size(n)) + "]"
	}
	return "[" + words("content of type", fmt.Sprintf("%q", c.Type)) + ": see --json]"
}

// words joins what is there; a record is one line.
func words(parts ...string) string {
	var there []string
	for _, part := range parts {
		if part != "" {
			there = append(there, oneLine(part))
		}
	}
	return strings.Join(there, " ")
}

// decoded is how many bytes base64 stands for.
func decoded(base64 string) int { return len(strings.TrimRight(base64, "=")) * 3 / 4 }

func size(n int) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d B", n)
	case n < 1<<20:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}

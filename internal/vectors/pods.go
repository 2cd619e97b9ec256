package vectors

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// PodContents replaces the pods listed in an outcome, by UID, by position or in full,
// with sorted lists of their contents.
func PodContents(c *Case, outcome any) (any, error) {
	raw, err := RawPods(c)
	if err != nil {
		return nil, err
	}
	lists, ok := outcome.(map[string]any)
	if !ok {
		return nil, errors.New("want is no object")
	}
	out := map[string]any{}
	for name, list := range lists {
		items, ok := list.([]any)
		if !ok {
			return nil, fmt.Errorf("want.%s is no list", name)
		}
		all := []any{}
		for _, item := range items {
			pod, err := listedPod(raw, item)
			if err != nil {
				return nil, fmt.Errorf("want.%s: %w", name, err)
			}
			all = append(all, PodContent(pod))
		}
		slices.SortFunc(all, func(a, b any) int { return strings.Compare(a.(string), b.(string)) })
		out[name] = all
	}
	return out, nil
}

// listedPod returns the pod of a case that an item of an outcome stands for.
func listedPod(raw []map[string]any, item any) (map[string]any, error) {
	switch item := item.(type) {
	case map[string]any:
		return item, nil
	case json.Number:
		i, err := strconv.Atoi(item.String())
		if err != nil || i < 0 || i >= len(raw) {
			return nil, fmt.Errorf("no pod %s", item)
		}
		return raw[i], nil
	}
	i := slices.IndexFunc(raw, func(p map[string]any) bool { return p["uid"] == item || p["id"] == item || p["name"] == item })
	if text, ok := item.(string); i < 0 && ok {
		if n, err := strconv.Atoi(strings.TrimLeft(text, "#pod-")); err == nil && n >= 0 && n < len(raw) {
			i = n
		}
	}
	if i < 0 {
		return nil, fmt.Errorf("no pod %v", item)
	}
	return raw[i], nil
}

// RawPods returns the pods of a case's input.
func RawPods(c *Case) ([]map[string]any, error) {
	var in struct {
		Pods []map[string]any `json:"pods"`
	}
	err := c.Decode(&in)
	return in.Pods, err
}

// PodContent is a pod's content without its name. Of two pods with equal content,
// either may be deleted.
func PodContent(pod map[string]any) string {
	content := map[string]any{}
	for name, value := range pod {
		if name != "uid" && name != "id" && name != "name" {
			content[name] = value
		}
	}
	return Text(content)
}

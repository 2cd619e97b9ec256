package indexset

// String returns the canonical text of s, empty for the empty set.
func (s Set) String() string {
	text, _ := s.AppendText(nil) // never fails
	return string(text)
}

// AppendText appends the canonical text of s to b. It implements
// [encoding.TextAppender]; the error is always nil.
func (s Set) AppendText(b []byte) ([]byte, error) {
	if s.list == nil {
		return b, nil
	}
	text := b
	if most := len(b) + s.longestText(); cap(b) < most {
		text = make([]byte, most)
		copy(text, b)
	}
	text = text[:cap(text)]
	at := len(b)
	digits, limit := 1, uint32(10) // of the number to write; limit is above it
	write := func(n uint32, separator byte) {
		for n >= limit && digits < 10 {
			digits, limit = digits+1, limit*10
		}
		for k := at + digits - 1; k >= at; k-- {
			text[k] = '0' + byte(n%10)
			n /= 10
		}
		text[at+digits] = separator
		at += digits + 1
	}
	for r := range s.eachRun {
		switch r.len() {
		case 1:
		case 2:
			write(r.first, ',')
		default:
			write(r.first, '-')
		}
		write(r.last, ',')
	}
	return text[:at-1], nil // without the last separator
}

// longestText returns an upper bound of the length of the text, with a separator after
// every number. It is at most about twice the length.
func (s Set) longestText() int {
	numbers := min(2*max(countRuns(s.words), len(s.runs())), int(min(s.count(), 1<<30)))
	digits := 1
	for n := s.max(); n >= 10; n /= 10 {
		digits++
	}
	return numbers * (digits + 1)
}

// MarshalText returns the canonical text of s. It implements
// [encoding.TextMarshaler]; the error is always nil.
func (s Set) MarshalText() ([]byte, error) { return s.AppendText(nil) }

// UnmarshalText sets s to the result of [Parse], and leaves s unchanged if b is
// invalid. It implements [encoding.TextUnmarshaler].
func (s *Set) UnmarshalText(b []byte) error {
	t, err := Parse(string(b))
	if err != nil {
		return err
	}
	*s = t
	return nil
}

package certificate

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/secure-systems-lab/go-securesystemslib/dsse"

	"parley/internal/jsonwhy"
)

// Certificate is a signed statement whose signature is good.
type Certificate struct {
	Statement
	Public ed25519.PublicKey // of whoever signed
	KeyID  string
	Bytes  []byte // the file
}

// ID is the SHA-256 of the file, in hexadecimal.
func (c *Certificate) ID() string {
	sum := sha256.Sum256(c.Bytes)
	return hex.EncodeToString(sum[:])
}

// Sign signs a statement, which gets the public key, and returns the certificate's bytes.
func Sign(s *Statement, key ed25519.PrivateKey) ([]byte, error) {
	pair := keyPair{key.Public().(ed25519.PublicKey), key}
	signed := *s
	signed.Predicate.Key = base64.StdEncoding.EncodeToString(encodeSPKI(pair.public))
	payload, err := encodeCanonical(&signed)
	if err != nil {
		return nil, err
	}
	signer, err := dsse.NewEnvelopeSigner(pair)
	if err != nil {
		return nil, err
	}
	e, err := signer.SignPayload(context.Background(), PayloadType, payload)
	if err != nil {
		return nil, fmt.Errorf("sign: %w", err)
	}
	b, err := encodeCanonical(e)
	return append(b, '\n'), err
}

// encodeCanonical writes a value in the only form that Open accepts, so that no byte of a certificate can be altered
// unnoticed, not even outside of what is signed.
func encodeCanonical(v any) ([]byte, error) { return json.Marshal(v, json.Deterministic(true)) }

// Open reads a certificate, and checks its form and its signature by the key that it contains. The error says what is
// wrong. Verify checks the rest.
func Open(b []byte) (*Certificate, error) {
	if len(b) > MaxBytes {
		return nil, fmt.Errorf("it is longer than %d bytes", MaxBytes)
	}
	body, ended := bytes.CutSuffix(b, []byte("\n"))
	var e dsse.Envelope
	if err := json.Unmarshal(body, &e, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("it is not a certificate: %s (name a file that parley certify wrote)",
			jsonwhy.InFile(err))
	}
	switch {
	case e.PayloadType != PayloadType:
		return nil, fmt.Errorf("its payload is %q, want %q", e.PayloadType, PayloadType)
	case len(e.Signatures) != 1:
		return nil, fmt.Errorf("it has %d signatures, want one", len(e.Signatures))
	}
	payload, err := base64.StdEncoding.DecodeString(e.Payload)
	if err != nil {
		return nil, errors.New("its payload is not base64")
	}
	c := &Certificate{Bytes: b}
	if c.Public, err = keyIn(payload); err != nil {
		return nil, err
	}
	c.KeyID = KeyID(c.Public)
	if e.Signatures[0].KeyID != c.KeyID {
		return nil, errors.New("the id of its key is not that of the key in it")
	}
	if err := checkSignature(&e, c.Public); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(payload, &c.Statement, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("its statement cannot be read: %s", jsonwhy.InFile(err))
	}
	if again, err := encodeCanonical(&e); err != nil || !ended || !bytes.Equal(again, body) {
		return nil, errors.New("its bytes are not those that were written: it was edited, or another program wrote it")
	}
	if again, err := encodeCanonical(&c.Statement); err != nil || !bytes.Equal(again, payload) {
		return nil, errors.New("its statement is not in the form in which statements are written")
	}
	return c, c.checkFields()
}

// keyIn returns the public key in a statement whose signature is not known to be good yet.
func keyIn(payload []byte) (ed25519.PublicKey, error) {
	var s struct {
		Type          string `json:"_type"`
		PredicateType string `json:"predicateType"`
		Predicate     struct {
			Key string `json:"key"`
		} `json:"predicate"`
	}
	if err := json.Unmarshal(payload, &s); err != nil {
		return nil, fmt.Errorf("its statement cannot be read: %s", jsonwhy.InFile(err))
	}
	switch {
	case s.Type != StatementType:
		return nil, fmt.Errorf("its statement is of the type %q, want %q", s.Type, StatementType)
	case s.PredicateType != PredicateType && s.PredicateType != formerPredicateType:
		return nil, fmt.Errorf("it states %q, want %q (is it the certificate of a newer version?)", s.PredicateType,
			PredicateType)
	}
	der, err := base64.StdEncoding.DecodeString(s.Predicate.Key)
	if err != nil {
		return nil, errors.New("its key is not base64")
	}
	public, err := parseSPKI(der)
	if err != nil {
		return nil, fmt.Errorf("its key: %w", err)
	}
	return public, nil
}

// checkSignature checks the signature of an envelope.
func checkSignature(e *dsse.Envelope, public ed25519.PublicKey) error {
	v, err := dsse.NewEnvelopeVerifier(keyPair{public: public})
	if err != nil {
		return err
	}
	if _, err := v.Verify(context.Background(), e); err != nil {
		return errors.New("its signature does not match its content: it was altered after it was signed")
	}
	return nil
}

// keyPair signs and verifies envelopes. It implements dsse.SignerVerifier.
type keyPair struct {
	public  ed25519.PublicKey
	private ed25519.PrivateKey // nil: it only verifies
}

func (k keyPair) Sign(_ context.Context, data []byte) ([]byte, error) {
	return ed25519.Sign(k.private, data), nil
}

func (k keyPair) Verify(_ context.Context, data, sig []byte) error {
	if !ed25519.Verify(k.public, data, sig) {
		return errors.New("the signature is wrong")
	}
	return nil
}

func (k keyPair) KeyID() (string, error)   { return KeyID(k.public), nil }
func (k keyPair) Public() crypto.PublicKey { return k.public }

// PEM types of keys.
const (
	privateType = "PRIVATE KEY"
	publicType  = "PUBLIC KEY"
)

// NewKey makes a key, and returns it and its public half in PEM: PKCS #8 and SubjectPublicKeyInfo.
func NewKey() (private, public []byte, err error) {
	pub, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, nil, err
	}
	spki, err := x509.MarshalPKIXPublicKey(pub)
	if err != nil {
		return nil, nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: privateType, Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: publicType, Bytes: spki}), nil
}

// ParsePrivate reads the key that signs: an Ed25519 key in PEM. The error says what it is instead.
func ParsePrivate(b []byte) (ed25519.PrivateKey, error) {
	block, err := onlyBlock(b)
	if err != nil {
		return nil, err
	}
	switch block.Type {
	case privateType:
	case publicType:
		return nil, errors.New("it is a public key; signing needs the private one")
	default:
		return nil, otherBlock(block.Type)
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, errors.New("its private key cannot be read (PKCS #8 is expected)")
	}
	if mine, ok := key.(ed25519.PrivateKey); ok {
		return mine, nil
	}
	return nil, otherKind(key)
}

// ParsePublic reads a public key: an Ed25519 key in PEM. The error says what it is instead.
func ParsePublic(b []byte) (ed25519.PublicKey, error) {
	block, err := onlyBlock(b)
	if err != nil {
		return nil, err
	}
	switch block.Type {
	case publicType:
	case privateType:
		return nil, errors.New("it is a private key, which its holder should never give away; give the public one")
	default:
		return nil, otherBlock(block.Type)
	}
	return parseSPKI(block.Bytes)
}

func parseSPKI(der []byte) (ed25519.PublicKey, error) {
	key, err := x509.ParsePKIXPublicKey(der)
	if err != nil {
		return nil, errors.New("its public key cannot be read (SubjectPublicKeyInfo is expected)")
	}
	if mine, ok := key.(ed25519.PublicKey); ok {
		return mine, nil
	}
	return nil, otherKind(key)
}

// onlyBlock returns the one PEM block of a file.
func onlyBlock(b []byte) (*pem.Block, error) {
	block, rest := pem.Decode(b)
	switch {
	case block == nil:
		return nil, errors.New("it has no key in PEM")
	case len(bytes.TrimSpace(rest)) > 0:
		return nil, errors.New("it has more than one key, or other text after the key")
	}
	return block, nil
}

func otherBlock(kind string) error {
	switch kind {
	case "ENCRYPTED PRIVATE KEY":
		return errors.New("it is an encrypted key; decrypt it first, for example by openssl pkey")
	case "OPENSSH PRIVATE KEY":
		return errors.New("it is a key in the format of OpenSSH; an Ed25519 key in PKCS #8 is expected")
	case "RSA PRIVATE KEY", "EC PRIVATE KEY", "DSA PRIVATE KEY":
		return fmt.Errorf("it is of another kind (%s); an Ed25519 key is expected", kind)
	}
	return fmt.Errorf("it is a %q; an Ed25519 key is expected", kind)
}

func otherKind(key any) error {
	kind := fmt.Sprintf("%T", key)
	switch key.(type) {
	case *rsa.PrivateKey, *rsa.PublicKey:
		kind = "RSA"
	case *ecdsa.PrivateKey, *ecdsa.PublicKey:
		kind = "ECDSA"
	}
	return fmt.Errorf("it is a key of another kind (%s); an Ed25519 key is expected", kind)
}

// KeyID identifies a public key: the SHA-256 of its SubjectPublicKeyInfo in DER, in hexadecimal.
func KeyID(public ed25519.PublicKey) string {
	sum := sha256.Sum256(encodeSPKI(public))
	return hex.EncodeToString(sum[:])
}

// encodeSPKI returns the SubjectPublicKeyInfo of a key, which always has one.
func encodeSPKI(public ed25519.PublicKey) []byte {
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		panic(err)
	}
	return der
}

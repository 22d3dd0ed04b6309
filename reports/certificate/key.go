package certificate

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
)

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
	sum := sha256.Sum256(spki(public))
	return hex.EncodeToString(sum[:])
}

// spki returns the SubjectPublicKeyInfo of a key, which always has one.
func spki(public ed25519.PublicKey) []byte {
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		panic(err)
	}
	return der
}

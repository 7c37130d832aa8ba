// Package witness pins a witness of other people's, which `npm run witness` builds and asks for signatures.
package witness

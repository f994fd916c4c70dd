// A backend's side of Reveille in one file: sign, query, wake, read events, verify a webhook. Go 1.19, no modules.
//
//	export API_ORIGIN=http://127.0.0.1:8080 API_ACCESS_KEY_ID=... API_SECRET_KEY=... API_APP_ID=...
//	go run reveille.go status DEVICE_ID
//	go run reveille.go wake DEVICE_ID [0x12ab]
//	go run reveille.go events [CURSOR|latest]                 follows the log, one page per line, until stopped
//	go run reveille.go verify ID TIMESTAMP SIGNATURE < body   a webhook, by API_WEBHOOK_SECRET
//	go run reveille.go sign METHOD TARGET DATE [BODY [NONCE]] prints the Authorization line
package main

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

func hexSha256(body []byte) string {
	return fmt.Sprintf("%x", sha256.Sum256(body))
}

// sign returns the headers to send, signed by TGV1-HMAC-SHA256. target is path?query as sent; an empty nonce is none.
func sign(method, target, date string, body []byte, nonce string) map[string]string {
	bodyHash := hexSha256(body)
	path, query, _ := strings.Cut(target, "?")
	if len(path) > 1 {
		path = strings.TrimSuffix(path, "/")
	}
	names := "x-tg-algorithm;x-tg-app-id;x-tg-content-sha256;x-tg-date"
	lines := "x-tg-algorithm:TGV1-HMAC-SHA256\nx-tg-app-id:" + os.Getenv("API_APP_ID") +
		"\nx-tg-content-sha256:" + bodyHash + "\nx-tg-date:" + date
	if method == "POST" || method == "PUT" || method == "PATCH" {
		query = "" // never part of the signature of a request with a body
		names = "content-length;content-type;" + names
		lines = "content-length:" + strconv.Itoa(len(body)) + "\ncontent-type:application/json\n" + lines
	}
	if nonce != "" {
		names += ";x-tg-nonce"
		lines += "\nx-tg-nonce:" + nonce
	}
	query = strings.ReplaceAll(query, "+", "%20")
	canonical := strings.Join([]string{method, path, query, lines, names, bodyHash}, "\n")

	now, _ := time.Parse("20060102T150405Z", date)
	scope := now.AddDate(0, 0, 7).Format("20060102") + "/tgv1_request"
	toSign := "TGV1-HMAC-SHA256\n" + date + "\n" + scope + "\n" + hexSha256([]byte(canonical))
	key := mac([]byte("TGV1"+os.Getenv("API_SECRET_KEY")), date[:8])
	key = mac(mac(key, path), "tgv1_request")
	headers := map[string]string{
		"x-tg-signed-headers": names,
		"authorization": "TGV1-HMAC-SHA256 Credential=" + os.Getenv("API_ACCESS_KEY_ID") + "/" + scope +
			", SignedHeaders=" + names + ", Signature=" + fmt.Sprintf("%x", mac(key, toSign)),
	}
	for _, line := range strings.Split(lines, "\n") {
		name, value, _ := strings.Cut(line, ":")
		headers[name] = value
	}
	return headers
}

// request sends a signed request. Every response is JSON with a "code"; 0 is success.
func request(method, target string, body []byte) (map[string]any, error) {
	made, err := http.NewRequest(method, os.Getenv("API_ORIGIN")+target, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	nonce := "" // two changes alike within one second are two by their nonces
	if random := make([]byte, 16); method != "GET" {
		rand.Read(random)
		nonce = fmt.Sprintf("%x", random)
	}
	for name, value := range sign(method, target, time.Now().UTC().Format("20060102T150405Z"), body, nonce) {
		made.Header.Set(name, value)
	}
	client := http.Client{Timeout: 30 * time.Second} // an events query waits up to 20 s
	response, err := client.Do(made)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var answer map[string]any
	return answer, json.NewDecoder(response.Body).Decode(&answer)
}

// verify checks a webhook by Standard Webhooks: pass the raw body, before any parser.
func verify(secret, id, timestamp, signatures string, body []byte) bool {
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || time.Since(time.Unix(seconds, 0)).Abs() > 300*time.Second {
		return false
	}
	key, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	expected := []byte("v1," + base64.StdEncoding.EncodeToString(mac(key, id+"."+timestamp+"."+string(body))))
	for _, given := range strings.Split(signatures, " ") {
		if hmac.Equal(expected, []byte(given)) {
			return true
		}
	}
	return false
}

// show prints a response, and ends the program unless it is a success.
func show(answer map[string]any, err error) map[string]any {
	if err != nil {
		log.Fatal(err)
	}
	text, _ := json.Marshal(answer)
	fmt.Println(string(text))
	if answer["code"] != 0.0 {
		os.Exit(1)
	}
	return answer
}

func main() {
	arguments := append(os.Args[1:], "", "", "", "", "", "")
	switch command, given := arguments[0], len(os.Args)-2; {
	case command == "status" && given == 1:
		show(request("GET", "/v1/device/connectivity?device_id="+url.QueryEscape(arguments[1]), nil))
	case command == "wake" && (given == 1 || given == 2):
		body, _ := json.Marshal(struct {
			DeviceID   string `json:"device_id"`
			CustomData string `json:"custom_data,omitempty"`
		}{arguments[1], arguments[2]})
		show(request("POST", "/v1/device/wakeup-request", body)) // 50402: it may have gone out; a second wake does no harm
	case command == "events" && given < 2:
		for cursor := arguments[1]; ; { // keep `next` with what you did: nothing is missed or repeated
			page := show(request("GET", "/v1/events?wait=20&after="+url.QueryEscape(cursor), nil))
			cursor = page["data"].(map[string]any)["next"].(string)
		}
	case command == "verify" && given == 3:
		body, _ := io.ReadAll(os.Stdin)
		if !verify(os.Getenv("API_WEBHOOK_SECRET"), arguments[1], arguments[2], arguments[3], body) {
			log.Fatal("invalid")
		}
		fmt.Println("valid")
	case command == "sign" && given >= 3 && given <= 5:
		fmt.Println(sign(arguments[1], arguments[2], arguments[3], []byte(arguments[4]), arguments[5])["authorization"])
	default:
		log.Print("usage: see the head of this file")
		os.Exit(2)
	}
}

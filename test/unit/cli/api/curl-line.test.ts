import assert from 'node:assert/strict';
import { test } from 'node:test';
import { curlLine } from '../../../../src/cli/api/curl-line.ts';

test('a GET has its headers and no body', () => {
  assert.equal(
    curlLine('GET', 'http://h/p?q=1&r', { 'X-Tg-Date': 'D' }, null),
    `curl -sS --globoff --path-as-is -X GET 'http://h/p?q=1&r' \\\n  -H 'X-Tg-Date: D'`,
  );
});

test('a body is quoted for the shell, and curl counts it', () => {
  const line = curlLine(
    'POST',
    'http://h/p',
    { 'Content-Length': '10', 'Content-Type': 'application/json' },
    `{"a":"it's"}`,
  );
  assert.ok(
    line.endsWith(`-H 'Content-Type: application/json' \\\n  --data-binary '{"a":"it'\\''s"}'`),
    line,
  );
  assert.doesNotMatch(line, /Content-Length/);
});

test('an empty body is sent as such', () => {
  assert.ok(curlLine('POST', 'http://h/p', { 'Content-Length': '0' }, null).endsWith(`--data-binary ''`));
});

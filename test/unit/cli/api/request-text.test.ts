import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Command, CommanderError } from 'commander';
import { CommandError } from '../../../../src/cli/shell/command-error.ts';
import {
  addRequestOptions,
  curlLine,
  formatTarget,
  permissionsFor,
  readRequestBody,
  type RequestTarget,
} from '../../../../src/cli/api/request-text.ts';

/** Parsed as in a command line. */
function parsed(method: string, target: string): unknown[] {
  const command = new Command().exitOverride().configureOutput({ writeErr: () => undefined });
  return addRequestOptions(command).parse([method, target], { from: 'user' }).processedArgs;
}

test('a target is split into path and raw query, unchanged', () => {
  for (const text of ['/v1/x', '/v1/x?a=%20+&b', '/v1//x/?a?b'])
    assert.equal(formatTarget(parsed('GET', text)[1] as RequestTarget), text);
  assert.deepEqual(parsed('post', '/p?a=1?2'), ['POST', { path: '/p', rawQuery: 'a=1?2' }]);
});

test('a method or a target that is invalid in HTTP is refused', () => {
  for (const wrong of ['', 'v1', '/a b', '/a#b', '/门', '/a\r\nX: y'])
    assert.throws(() => parsed('GET', wrong), CommanderError, wrong);
  for (const wrong of ['', 'GE T', 'G3']) assert.throws(() => parsed(wrong, '/'), CommanderError, wrong);
});

test('a body is the text itself, and a GET has none', () => {
  assert.equal(readRequestBody('POST', '{}')?.toString(), '{}');
  assert.equal(readRequestBody('GET', undefined), null);
  assert.throws(() => readRequestBody('GET', '{}'), CommandError);
});

test('the permission follows from method and path, with or without a trailing slash', () => {
  for (const [method, path, permission] of [
    ['GET', '/v1/device/connectivity', 'connectivity:read'],
    ['POST', '/v1/device/wakeup-request/', 'wakeup:write'],
    ['GET', '/v1/devices/', 'device:read'],
    ['DELETE', '/v1/devices', 'device:write'],
  ] as const)
    assert.deepEqual(permissionsFor(method, path), [permission], path);
  assert.deepEqual(permissionsFor('GET', '/v1/other'), []);
});

test('a GET has its headers and no body', () => {
  assert.equal(
    curlLine('GET', 'http://h/p?q=1&r', { 'X-Tg-Date': 'D' }, null),
    `curl -sS --globoff --path-as-is -X GET 'http://h/p?q=1&r' \\\n  -H 'X-Tg-Date: D'`,
  );
});

test('a body is quoted for the shell, and curl sets its length', () => {
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

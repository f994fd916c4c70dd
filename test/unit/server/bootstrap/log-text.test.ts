import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatLogLine } from '../../../../src/server/bootstrap/log-text.ts';

const noonMs = new Date(2026, 10, 22, 12, 4, 31, 7).getTime();

function shown(fields: object): string {
  const line = JSON.stringify({ level: 'info', time: noonMs, ...fields });
  return formatLogLine(`${line}\n`, { hasColor: false, hasDate: false });
}

test('a line has the time of day, the level, the message and the fields', () => {
  assert.equal(
    shown({ signal: 'SIGTERM', devices: 3, demo: null, msg: 'stopping' }),
    '12:04:31.007 INFO  stopping  signal=SIGTERM devices=3 demo=null\n',
  );
  assert.equal(shown({ msg: 'stopped' }), '12:04:31.007 INFO  stopped\n');
});

test('nested fields have dotted names, and ambiguous texts are quoted', () => {
  assert.equal(
    shown({ listeners: { api: '127.0.0.1:8080' }, from: 'pid 7', none: '', ids: ['a', 'b'], msg: 'ready' }),
    '12:04:31.007 INFO  ready  listeners.api=127.0.0.1:8080 from="pid 7" none="" ids=["a","b"]\n',
  );
});

test('a line names its process if there are several, and the media process', () => {
  assert.equal(
    shown({ process: 0, media: { leg: 'device' }, msg: 'leg refused' }),
    '12:04:31.007 INFO  [process 0, media] leg refused  leg=device\n',
  );
  assert.equal(
    shown({ media: 'cut {', msg: 'leg refused' }),
    '12:04:31.007 INFO  [media] leg refused  media="cut {"\n',
  );
});

test('the stack of an error follows its line', () => {
  const err = { type: 'Error', message: 'no space', stack: 'Error: no space\n    at write', code: 'ENOSPC' };
  assert.equal(
    shown({ err, file: 'a', msg: 'not written' }),
    '12:04:31.007 INFO  not written  err="no space" err.type=Error err.code=ENOSPC file=a\n' +
      '    Error: no space\n        at write\n',
  );
});

test('untrusted text cannot control the terminal in any field', () => {
  const hostile = 'x\u001b[2J\u009b\r\n\u202ey';
  const line = shown({
    [hostile]: hostile,
    err: { message: hostile, stack: hostile },
    list: [hostile],
    msg: hostile,
  });
  const [first = '', ...below] = line.split('\n');
  assert.doesNotMatch(first, /[\p{Cc}\p{Cf}]/u);
  assert.deepEqual(below, ['    x\\u001b[2J\\u009b\\u000d', '    \\u202ey', '']);
});

test('a malformed error from the media process is shown as it is, and does not crash the server', () => {
  assert.equal(
    shown({ media: { err: { stack: 'a' } }, msg: 'failed' }),
    '12:04:31.007 INFO  [media] failed  err.stack=a\n',
  );
});

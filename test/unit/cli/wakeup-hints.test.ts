import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApiAnswer } from '../../../src/cli/api-request.ts';
import { describeWakeup } from '../../../src/cli/wakeup-hints.ts';
import { endpointCodes } from '../../../src/domain/codes.ts';

function answer(code: number, more: Partial<ApiAnswer> = {}): ApiAnswer {
  return { status: 200, headers: {}, text: '', json: { code, message: 'as the server says' }, code, ...more };
}

test('a wakeup that was accepted says when the packet left', () => {
  const json = { code: 0, data: { accepted_at: '2026-11-20T08:30:00.123+00:00' } };
  assert.match(describeWakeup('DOOR-1', answer(0, { json })), /being woken.*2026-11-20T08:30:00\.123/);
});

test('every code that a wakeup can answer has its hint, save the one for our own faults', () => {
  for (const code of endpointCodes.wakeup) {
    const said = describeWakeup('DOOR-1', answer(code));
    assert.match(said, new RegExp(`DOOR-1 was not woken: as the server says \\(${code}`));
    if (code !== 50000) assert.equal(said.split('\n').length, 3, String(code));
  }
});

test('a limit says when to come back', () => {
  assert.match(
    describeWakeup('DOOR-1', answer(42901, { headers: { 'retry-after': '7' } })),
    /come back in 7 s/,
  );
});

test('an answer that is no envelope is said as it is', () => {
  assert.match(
    describeWakeup('DOOR-1', answer(0, { json: null, code: null, status: 431 })),
    /no envelope.*431/,
  );
});

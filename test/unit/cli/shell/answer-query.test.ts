import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compileQuery } from '../../../../src/cli/shell/answer-query.ts';

const answer = {
  devices: [
    { id: 'A', code: 0, gone: undefined },
    { id: 'B', code: 40403 },
  ],
};

test('a query finds what it names in an answer, and null where there is nothing', async () => {
  const found = async (query: string): Promise<unknown> => (await compileQuery(query))(answer);
  assert.deepEqual(await found('devices[?code == `0`].id'), ['A']);
  assert.deepEqual(await found("join(', ', devices[].id)"), 'A, B');
  assert.deepEqual(await found('devices[0]'), { id: 'A', code: 0 });
  assert.equal(await found('nothing.here'), null);
});

test('a query that cannot be read is a usage error before anything is done, one that does not fit a failure', async () => {
  for (const wrong of ['devices[', '', '?', 'nofunction(('])
    await assert.rejects(compileQuery(wrong), { exitCode: 2 }, wrong);
  const query = await compileQuery('length(`1`)');
  assert.throws(() => query(answer), { exitCode: 1, message: /^--query cannot be applied/ });
});

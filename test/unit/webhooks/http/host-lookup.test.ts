import assert from 'node:assert/strict';
import { test } from 'node:test';
import { promisify } from 'node:util';
import type { LookupAddress } from 'node:dns';
import {
  checkedLookup,
  SystemNames,
  type HostAddress,
  type NameResolver,
} from '../../../../src/webhooks/http/name-resolver.ts';

class ScriptedNames implements NameResolver {
  readonly asked: string[] = [];
  readonly #answers: Readonly<Record<string, readonly string[] | Error>>;

  constructor(answers: Readonly<Record<string, readonly string[] | Error>>) {
    this.#answers = answers;
  }

  async resolve(host: string): Promise<readonly HostAddress[]> {
    this.asked.push(host);
    const answer = this.#answers[host] ?? [];
    if (answer instanceof Error) throw answer;
    return answer.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
  }
}

function lookupOf(names: NameResolver, allowLocal = false): (host: string) => Promise<LookupAddress[]> {
  const lookup = promisify(checkedLookup(names, allowLocal)) as (
    host: string,
    options: { all: true },
  ) => Promise<LookupAddress[]>;
  return (host) => lookup(host, { all: true });
}

test('what is connected to is what was resolved, all of it', async () => {
  const names = new ScriptedNames({ 'good.example': ['8.8.8.8', '2606:4700::1111'] });
  assert.deepEqual(await lookupOf(names)('good.example'), [
    { address: '8.8.8.8', family: 4 },
    { address: '2606:4700::1111', family: 6 },
  ]);
});

test('one forbidden address refuses the host, wherever it stands', async () => {
  const names = new ScriptedNames({ 'sly.example': ['8.8.8.8', '10.0.0.1'] });
  await assert.rejects(lookupOf(names)('sly.example'), /sly\.example: 10\.0\.0\.1 .*webhooks\.allow_local/);
  assert.equal((await lookupOf(names, true)('sly.example')).length, 2);
});

test('a host without an address, and one that nobody knows, are refused', async () => {
  const names = new ScriptedNames({ 'dead.example': new Error('nobody knows') });
  await assert.rejects(lookupOf(names)('empty.example'), /empty\.example has no address/);
  await assert.rejects(lookupOf(names)('dead.example'), /nobody knows/);
});

test('lookups of one name that overlap are one, and the next one asks again', async () => {
  const names = new ScriptedNames({ 'good.example': ['8.8.8.8'] });
  const lookup = lookupOf(names);
  await Promise.all([lookup('good.example'), lookup('good.example')]);
  assert.deepEqual(names.asked, ['good.example']);
  await lookup('good.example');
  assert.equal(names.asked.length, 2);
});

test('localhost is the loopback addresses, whatever a name server says', async () => {
  const names = new SystemNames();
  for (const host of ['localhost', 'LOCALHOST.', 'hook.localhost']) {
    const addresses = await names.resolve(host);
    assert.deepEqual(
      addresses.map(({ address }) => address),
      ['127.0.0.1', '::1'],
    );
  }
});

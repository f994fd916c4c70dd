/** A webhook's masked URL, and the webhooks that it identifies. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApplicationId } from '../../../src/model/ids.ts';
import { findNamed, isMaskedUrl, maskUrl, maskUrlsIn, type Webhook } from '../../../src/model/registry.ts';

const shown: Readonly<Record<string, string>> = {
  'https://backend.example': 'https://backend.example',
  'HTTPS://Backend.example:443/Hook': 'HTTPS://Backend.example:443/Hook',
  'https://user:hunter2@backend.example/hook': 'https://user:***@backend.example/hook',
  'https://hunter2@backend.example/hook': 'https://***@backend.example/hook',
  'https://:hunter2@backend.example/': 'https://:***@backend.example/',
  'https://u:hunter2@x:hunter2@backend.example/': 'https://u:***@backend.example/',
  'https:\\\\u:hunter2@backend.example/': 'https://u:***@backend.example/',
  'https://u:hunter"2@[::1]:8443/a': 'https://u:***@[::1]:8443/a',
  'https://backend.example/hook?key=hunter2&b=hunter2=x': 'https://backend.example/hook?key=***&b=***',
  'https://backend.example/hook?hunter2': 'https://backend.example/hook?***',
  'https://backend.example/hook?a=1#hunter2': 'https://backend.example/hook?a=***#***',
  hunter2: '***',
};

test("a shown URL has neither the password of the original nor its query's values", () => {
  for (const [url, expected] of Object.entries(shown)) {
    assert.equal(maskUrl(url), expected);
    assert.equal(maskUrl(expected), expected, 'once is enough');
    assert.equal(isMaskedUrl(url), false, url);
    assert.equal(isMaskedUrl(expected), expected !== url && expected !== '***', expected);
  }
  assert.equal(
    maskUrlsIn('no webhook "a https://u:p@h/?k=v" here'),
    'no webhook "a https://u:***@h/?k=***" here',
  );
});

function hook(url: string, appId = 'a'): Webhook {
  return { appId: appId as ApplicationId, url, secret: 's', types: ['*'] };
}

test('a masked URL finds the webhooks that are shown so; the whole URL finds only its own', () => {
  const hooks = [
    hook('https://h/?k=1'),
    hook('https://h/?k=2'),
    hook('https://h/?k=3', 'b'),
    hook('https://h/'),
  ];
  const named = (url: string, appId: string | null): number[] =>
    findNamed(hooks, url, appId).map((found) => hooks.indexOf(found));
  assert.deepEqual(named('https://h/?k=2', null), [1]);
  assert.deepEqual(named('https://h/?k=***', 'a'), [0, 1]);
  assert.deepEqual(named('https://h/?k=***', 'b'), [2]);
  assert.deepEqual(named('https://h/', null), [3]);
  assert.deepEqual(named('https://h/?k=4', null), []);
});

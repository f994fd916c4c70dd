import assert from 'node:assert/strict';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { readCredentialFile } from '../../../src/cli/api/credential-source.ts';
import { readTextFile } from '../../../src/lib/text-file.ts';
import { readProfiles } from '../../../src/cli/profile/profiles.ts';
import { temporaryDirectory } from '../../support/temporary-store.ts';

test('a text file is read without its byte order mark, and with every other character', (t) => {
  const path = join(temporaryDirectory(t), 'a.txt');
  for (const text of ['', 'x', '{"a":1}', 'é\ufeff😀', '\ufeff']) {
    writeFileSync(path, `\ufeff${text}`);
    assert.equal(readTextFile(path), text);
  }
  writeFileSync(path, Buffer.from([0xef, 0xbb]));
  assert.equal(readTextFile(path).length, 1);
});

test('a text file in UTF-16 is refused with advice', (t) => {
  const path = join(temporaryDirectory(t), 'a.txt');
  const littleEndian = Buffer.from('\ufefftext', 'utf16le');
  for (const bytes of [littleEndian, Buffer.from(littleEndian).swap16()]) {
    writeFileSync(path, bytes);
    assert.throws(() => readTextFile(path), { message: `${path} is UTF-16: save it as UTF-8` });
  }
});

test('a credential file and the profiles may begin with a byte order mark', (t) => {
  const path = join(temporaryDirectory(t), 'a.json');
  const credential = { access_key_id: 'AK', secret_key: 'a secret', app_id: 'app' };
  writeFileSync(path, `\ufeff${JSON.stringify(credential)}`);
  assert.deepEqual(readCredentialFile(path), credential);
  const profiles = { prod: { ops: 'https://reveille.example', token: 'a-token' } };
  chmodSync(path, 0o600);
  writeFileSync(path, `\ufeff${JSON.stringify(profiles)}`);
  assert.deepEqual(Object.keys(readProfiles(path)), ['prod']);
});

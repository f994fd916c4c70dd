import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { apiBeside } from '../../../../src/cli/api/api-access.ts';
import { CommandError } from '../../../../src/cli/shell/command-error.ts';
import { temporaryDirectory } from '../../../support/temporary-store.ts';

test('an API without a certificate is plain', () => {
  const plain = { origin: 'http://127.0.0.1:8080', certificate: null };
  assert.deepEqual(apiBeside('127.0.0.1:8080', null), plain);
});

test('a certificate that cannot be read is named, with another way to the server', (t) => {
  const noCertificate = join(temporaryDirectory(t), 'tls.crt');
  writeFileSync(noCertificate, 'no certificate');
  for (const file of [noCertificate, '/nowhere/tls.crt'])
    assert.throws(
      () => apiBeside('127.0.0.1:8080', file),
      (error) =>
        error instanceof CommandError && error.message.includes(file) && /--url/.test(error.advice ?? ''),
    );
});

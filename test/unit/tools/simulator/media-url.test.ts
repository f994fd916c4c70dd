import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CommandContext } from '../../../../src/cli/shell/command-context.ts';
import { CommandError } from '../../../../src/cli/shell/command-error.ts';
import { findMediaUrl } from '../../../../src/tools/simulator/server-urls.ts';

/** Where no server runs. */
function found(media: string | undefined, set: readonly string[] = []): string {
  return findMediaUrl(new CommandContext({ dataDir: '/nonexistent/reveille', set }, {}), media);
}

test('a listener that is named is taken, as an address or as a URL', () => {
  assert.equal(found('10.0.0.5:8083'), 'ws://10.0.0.5:8083');
  assert.equal(found('wss://media.example'), 'wss://media.example');
});

test('what is neither is a usage error', () => {
  for (const media of ['nowhere', '10.0.0.5:0', 'http://10.0.0.5:8083', 'ws://host/path', ''])
    assert.throws(
      () => found(media),
      (error) => error instanceof CommandError && error.exitCode === 2,
      media,
    );
});

test('else it is where the settings have it, encrypted where they have a certificate', () => {
  assert.equal(found(undefined), 'ws://127.0.0.1:8083');
  assert.equal(found(undefined, ['media.listen=0.0.0.0:9000']), 'ws://127.0.0.1:9000');
  const certificate = ['media.tls_cert_file=cert.pem', 'media.tls_key_file=key.pem'];
  assert.equal(found(undefined, certificate), 'wss://127.0.0.1:8083');
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CommandContext } from '../../../../src/cli/shell/command-context.ts';
import { CommandError } from '../../../../src/cli/shell/command-error.ts';
import { findSignalUrl, type SignalChoice } from '../../../../src/tools/simulator/server-urls.ts';

/** Where no server runs. */
function found(choice: SignalChoice, set: readonly string[] = []): string | null {
  return findSignalUrl(new CommandContext({ dataDir: '/nonexistent/reveille', set }, {}), choice);
}

test('a listener that is named is taken, as an address or as a URL', () => {
  assert.equal(found({ signal: '10.0.0.5:8082' }), 'ws://10.0.0.5:8082/v1/signal');
  assert.equal(found({ signal: 'wss://signal.example' }), 'wss://signal.example/v1/signal');
  assert.equal(
    found({ signal: 'wss://signal.example/behind/a/proxy' }),
    'wss://signal.example/behind/a/proxy',
  );
  assert.equal(found({ signal: '10.0.0.5:8082', server: '10.0.0.5:8081' }), 'ws://10.0.0.5:8082/v1/signal');
});

test('what is neither is a usage error', () => {
  for (const signal of ['nowhere', '10.0.0.5:0', 'http://10.0.0.5:8082', ''])
    assert.throws(
      () => found({ signal }),
      (error) => error instanceof CommandError && error.exitCode === 2,
      signal,
    );
});

test('a sleep server of elsewhere says nothing of its signal listener', () => {
  assert.equal(found({ server: '10.0.0.5:8081' }), null);
});

test('else it is where the settings have it, encrypted where they have a certificate', () => {
  assert.equal(found({}), 'ws://127.0.0.1:8082/v1/signal');
  assert.equal(found({}, ['signal.listen=0.0.0.0:9000']), 'ws://127.0.0.1:9000/v1/signal');
  const certificate = ['signal.tls_cert_file=cert.pem', 'signal.tls_key_file=key.pem'];
  assert.equal(found({}, certificate), 'wss://127.0.0.1:8082/v1/signal');
});

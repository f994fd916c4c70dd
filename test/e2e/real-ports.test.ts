/** The ports of a site with edges, before any of its processes is started, on real sockets. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { test } from 'node:test';
import { settlePorts } from '../../src/server/config/real-ports.ts';
import { listenerNames } from '../../src/server/config/settings-schema.ts';
import { loadSettings } from '../../src/server/config/settings.ts';
import { freeListens } from '../support/server-process.ts';

test('port 0 becomes a port of its own for each listener, none that the kernel gives to connections', async () => {
  const settled = await settlePorts(loadSettings({ env: {}, overrides: freeListens }));
  const ports = listenerNames.map((name) => settled[name].port);
  assert.equal(new Set(ports).size, ports.length);
  for (const port of ports) assert.ok(port >= 20_000 && port < 32_768, `port ${port}`);
});

test('a port that somebody has is named with the setting that asks for it', async (t) => {
  const other = createServer().listen(0, '127.0.0.1');
  t.after(() => other.close());
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo;
  const settling = settlePorts(
    loadSettings({ env: {}, overrides: ['api.listen=127.0.0.1:0', `sleep.listen=127.0.0.1:${port}`] }),
  );
  await assert.rejects(settling, {
    message: `cannot listen on 127.0.0.1:${port} (sleep.listen): in use, or not an address of this machine`,
  });
});

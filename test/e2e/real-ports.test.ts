/** Ports of a site with edges, chosen before its processes start, on real sockets. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { test } from 'node:test';
import { reservePorts } from '../../src/server/config/real-ports.ts';
import { listenerNames } from '../../src/server/config/settings-schema.ts';
import { loadSettings } from '../../src/server/config/settings.ts';
import { freeListens } from '../support/server-process.ts';

test('port 0 becomes a distinct port for each listener, outside of the ephemeral range', async () => {
  const reserved = await reservePorts(loadSettings({ env: {}, overrides: freeListens }));
  const ports = listenerNames.map((name) => reserved[name].port);
  assert.equal(new Set(ports).size, ports.length);
  for (const port of ports) assert.ok(port >= 20_000 && port < 32_768, `port ${port}`);
});

test('a port in use is reported with its setting', async (t) => {
  const other = createServer().listen(0, '127.0.0.1');
  t.after(() => other.close());
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo;
  const reserving = reservePorts(
    loadSettings({ env: {}, overrides: ['api.listen=127.0.0.1:0', `sleep.listen=127.0.0.1:${port}`] }),
  );
  await assert.rejects(reserving, {
    message: `cannot listen on 127.0.0.1:${port} (sleep.listen): in use, or not an address of this machine`,
  });
});

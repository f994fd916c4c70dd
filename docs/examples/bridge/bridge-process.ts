/**
 * The process of one bridge, started by the launcher: the vendor's library may leak or crash, and takes one call with it.
 * It exits with 0 after its call, with 3 when the server refuses its key, else with 1.
 */
import { Bridge, BridgeRefused } from './bridge.ts';
import { loadSource } from './phone-source.ts';
import type { BridgeNews } from './launcher.ts';

const { BRIDGE_URL = '', BRIDGE_KEY = '', BRIDGE_SOURCE = '', BRIDGE_SESSION } = process.env;

try {
  const tell = (event: string, session: string | null): void => {
    process.send?.({ event, session } satisfies BridgeNews);
  };
  const access = { url: BRIDGE_URL, key: BRIDGE_KEY, source: await loadSource(BRIDGE_SOURCE), tell };
  const bridge = new Bridge(access, BRIDGE_SESSION ?? null);
  process.on('SIGTERM', () => bridge.hangUp());
  // A launcher that is gone takes its idle bridges with it; what is in a call comes to its end.
  process.on('disconnect', () => process.emit('SIGTERM'));
  await bridge.run();
  process.exit(0);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(error instanceof BridgeRefused && error.message === 'HTTP 401' ? 3 : 1);
}

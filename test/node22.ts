/**
 * Runs what a later Node may change under Node 22.12 or later: `npm run test:node22` has npm bring one and starts this with it.
 * A whole run of the tests takes minutes that CI does not have twice, so these are chosen: what touches a binary that is
 * another for each Node (uWebSockets.js, LMDB, FFmpeg, WebRTC), sockets and threads of Node's own, and several processes, which
 * accept sleep connections in another way than under Node 20. What is only computed is the same under both.
 */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const major = 22;

const places = [
  'unit/gateways/verification',
  'unit/lib',
  'unit/media/codec',
  'unit/media/webrtc',
  'unit/server/upgrade',
  'unit/storage/lmdb',
  'e2e/authentication.test.ts',
  'e2e/sleep-gateway.test.ts',
  'e2e/sleep-gateway-tls.test.ts',
  'e2e/sleep-sockets.test.ts',
  'e2e/signal-gateway.test.ts',
  'e2e/wakeup.test.ts',
  'e2e/durability.test.ts',
  'e2e/upgrade.test.ts',
  'e2e/media-path.test.ts',
  'e2e/webrtc-peer.test.ts',
  'e2e/webhook-delivery.test.ts',
  'e2e/process-ports.test.ts',
  'cluster/processes-accept.cluster.ts',
  'cluster/processes-starts.cluster.ts',
];

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

process.exitCode = main();

/** npm that brought no binary would leave this to the Node that is there, which would pass. */
function main(): number {
  if (Number(process.versions.node.split('.')[0]) !== major) {
    console.error(`test/node22.ts: this is Node ${process.versions.node}: npm run test:node22`);
    return 1;
  }
  console.log(`Node ${process.version}`);
  const command = ['--import', 'tsx', here('run.ts'), ...process.argv.slice(2), ...places.map(here)];
  return spawnSync(process.execPath, command, { stdio: 'inherit' }).status ?? 1;
}

/**
 * `reveille edge`: holds sleep connections on this machine for a core on another one. Only the log goes to standard output.
 * Source: scale-out.md, Edges.
 */
import { hostname } from 'node:os';
import type { Command } from 'commander';
import { formatListenAddress, reachableHere } from '../../lib/connections/listen-address.ts';
import { readLinkKey } from '../../lib/link/link-key.ts';
import { connectPsk } from '../../lib/link/psk-transport.ts';
import { LoopProgress } from '../../lib/loop-progress.ts';
import { readVersion } from '../../lib/package-version.ts';
import { msgpackWithoutNative } from '../../server/children/child-environment.ts';
import { reportExposedFiles } from '../../server/config/risks.ts';
import { newCommand, type CommandContext, inLocalContext } from '../shell/command-context.ts';
import { usageError } from '../shell/command-error.ts';
import { beginServing, checkEdgeStart, refuseStart, serveElsewhere } from './serving-end.ts';

export function addEdgeCommand(program: Command): void {
  newCommand(
    program,
    'edge',
    'Hold sleep connections on this machine for a core on another one. Its log is on standard output.',
    [
      '--core 10.0.0.5:8086 --key-file edge.key --set edge.listen=0.0.0.0:8081',
      'the core has the same key in edges.key_file',
    ],
    [
      '--core 10.0.0.5:8086 --key-file edge.key --set edge.name=north --set edge.advertise=sleep.example:8081',
      'with a name other than that of the host, and the address of a load balancer',
    ],
  )
    .option('--core <host:port>', 'the edges.listen of the core: edge.core')
    .option('--key-file <file>', 'the key shared by the core and its edges: edge.key_file')
    .action(inLocalContext(serveEdge));
}

interface EdgeOptions {
  readonly core?: string;
  readonly keyFile?: string;
}

async function serveEdge(context: CommandContext, given: EdgeOptions): Promise<void> {
  const { settings, clock } = context.with({ 'edge.core': given.core, 'edge.key_file': given.keyFile });
  const { edge } = settings;
  const { core, key_file: keyFile } = edge;
  if (core === null || keyFile === null)
    throw usageError(
      'an edge needs --core, the edges.listen of its core, and --key-file, the key that both share',
    );
  const serving = beginServing(settings);
  const { log, announce } = serving;
  checkEdgeStart(settings);
  reportExposedFiles(settings, log);
  if (edge.advertise.length === 0 && reachableHere(edge.listen).host !== edge.listen.host)
    log.warn(
      { told: formatListenAddress(edge.listen) },
      'sleep server: its advertised address is a wildcard that no device can connect to; set edge.advertise',
    );
  const key = await readLinkKey(keyFile, 'edge.key_file').catch(refuseStart);
  process.env[msgpackWithoutNative] = 'true';
  const { EdgeProcess } = await import('../../edge/process/edge.ts');
  const { edgePsk } = await import('../../edge/edge-language.ts');
  const own = {
    name: edge.name ?? hostname(),
    sleep: { ...settings.sleep, listen: edge.listen, advertise: edge.advertise },
    port: 'own',
  } as const;
  const holder = new EdgeProcess(own, {
    clock,
    progress: new LoopProgress(clock),
    log,
    release: readVersion(),
    connect: () => connectPsk({ ...core, key }, edgePsk, clock),
    onListening: (address) => announce({ listeners: { sleep: formatListenAddress(address) } }, 'ready'),
  });
  await serveElsewhere(serving, holder);
}

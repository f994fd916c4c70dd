/** The doctor's check of NATS, where nodes share one: it can be reached with the given rights, and has JetStream. */
import { messageOf } from '../../lib/result.ts';
import type { CommandContext } from '../shell/command-context.ts';
import { failing, ok, type Finding } from '../../server/health/finding.ts';

/** None without a cluster of nodes. */
export async function checkCluster({ settings }: Pick<CommandContext, 'settings'>): Promise<Finding[]> {
  const { nats_url: url, nats_credentials: credentialsPath, nats_ca: caPath } = settings.cluster;
  if (url === null) return [];
  // Loaded only here: a server without a cluster runs without the client of NATS.
  const { probeNats } = await import('../../cluster/nats/nats-probe.ts');
  try {
    const server = await probeNats({ url, credentialsPath, caPath, nodeName: 'reveille-doctor' });
    return [ok('nats', `${server} has JetStream`)];
  } catch (error) {
    return [
      failing(
        'nats',
        messageOf(error),
        'look at cluster.nats_url, its credentials, and that server; nodes start without it and serve less',
      ),
    ];
  }
}

/** The doctor's check of a cluster's NATS server: it is reachable, grants the required permissions, and has JetStream. */
import { messageOf } from '../../lib/result.ts';
import type { CommandContext } from '../shell/command-context.ts';
import { failing, ok, type Finding } from '../../server/health/finding.ts';

/** Empty without a cluster. */
export async function checkCluster({ settings }: Pick<CommandContext, 'settings'>): Promise<Finding[]> {
  const { nats_url: url, nats_credentials: credentialsPath, nats_ca: caPath } = settings.cluster;
  if (url === null) return [];
  // Lazy: a server without a cluster runs without the NATS client.
  const { probeNats } = await import('../../cluster/nats/nats-probe.ts');
  try {
    const server = await probeNats({ url, credentialsPath, caPath, nodeName: 'reveille-doctor' });
    return [ok('nats', `${server} has JetStream`)];
  } catch (error) {
    return [
      failing(
        'nats',
        messageOf(error),
        'check cluster.nats_url, its credentials, and that server; until then nodes run with reduced service',
      ),
    ];
  }
}

/** Settings of the nodes of a cluster. Source: cluster.md; this file chooses the rest. */
import { z } from 'zod';
import { section, setting, optionalText } from '../../model/settings-values.ts';

const serversExpected =
  'URLs of NATS such as nats://host:4222 or tls://host:4222, comma separated, or nothing';
const prefixExpected = 'letters, digits, - and _';
const nameExpected = 'a name of at most 255 characters without control characters, or nothing';
const replicasExpected = '1, 3 or 5';

export const clusterSection = section({
  nats_url: setting(
    z.string(serversExpected).refine(areServers, serversExpected).nullable(),
    null,
    'NATS servers of the cluster, comma separated, nats:// or tls://; nothing: no cluster.',
  ),
  nats_credentials: setting(
    optionalText('the path of a credentials file'),
    null,
    'File with the credentials for NATS, read at every connection; nothing: those in the URL.',
    true,
  ),
  nats_ca: setting(
    optionalText('the path of a PEM file'),
    null,
    'File with the certificate authorities of NATS, which enforces TLS; nothing: those of the system.',
  ),
  nats_prefix: setting(
    z.string(prefixExpected).regex(/^[A-Za-z0-9_-]{1,64}$/, prefixExpected),
    'reveille',
    'Prefix of all subjects, streams and buckets; unique for each cluster at the same NATS.',
  ),
  node_name: setting(
    z
      .string(nameExpected)
      .regex(/^[^\p{Cc}]{1,255}$/u, nameExpected)
      .nullable(),
    null,
    'Name of this node in events, unique in its cluster; nothing: the host name.',
  ),
  replicas: setting(
    z.number(replicasExpected).refine((count) => [1, 3, 5].includes(count), replicasExpected),
    1,
    'Replicas of each stream and bucket in NATS: 1, 3 or 5, on as many servers.',
  ),
});

function areServers(text: string): boolean {
  const parts = text.split(',').map((part) => part.trim());
  return parts.every((part) => /^(?:nats|tls):\/\/[^/]+\/?$/.test(part) && URL.canParse(part));
}

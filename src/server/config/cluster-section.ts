/** The settings of nodes that are one server. Source: cluster.md; what it leaves open is chosen here. */
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
    'The NATS servers that nodes share, comma separated, nats:// or tls://; nothing: no cluster.',
  ),
  nats_credentials: setting(
    optionalText('the path of a credentials file'),
    null,
    'The credentials for NATS, read again at every connection; nothing: those in the URL.',
    true,
  ),
  nats_ca: setting(
    optionalText('the path of a PEM file'),
    null,
    "Authorities of NATS's certificates, over TLS always; nothing: those of the system.",
  ),
  nats_prefix: setting(
    z.string(prefixExpected).regex(/^[A-Za-z0-9_-]{1,64}$/, prefixExpected),
    'reveille',
    'Prefix of all subjects, streams and buckets; clusters that share a NATS have one each.',
  ),
  node_name: setting(
    z
      .string(nameExpected)
      .regex(/^[^\p{Cc}]{1,255}$/u, nameExpected)
      .nullable(),
    null,
    'The name of this node in events, unique in its cluster; nothing: the host name.',
  ),
  replicas: setting(
    z.number(replicasExpected).refine((count) => [1, 3, 5].includes(count), replicasExpected),
    1,
    'Copies that NATS keeps of each stream and bucket: 1, 3 or 5, on as many servers.',
  ),
});

function areServers(text: string): boolean {
  const parts = text.split(',').map((part) => part.trim());
  return parts.every((part) => /^(?:nats|tls):\/\/[^/]+\/?$/.test(part) && URL.canParse(part));
}

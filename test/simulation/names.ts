/** Names of the initial registry entries of a simulated site. */
import type { ApplicationId, ProductId } from '../../src/model/ids.ts';
import type { Webhook } from '../../src/model/registry.ts';

export const app = 'simulated-app' as ApplicationId;
/** Sometimes an application of the same product. */
export const otherApp = 'other-app' as ApplicationId;
export const product = 'doorbell' as ProductId;
export const bridgeKey = 'key of the simulated bridge';

export const hooks: readonly Webhook[] = [
  { appId: app, url: 'https://backend.example/all', secret: 'whsec_c2VjcmV0', types: ['*'] },
  {
    appId: app,
    url: 'https://backend.example/some',
    secret: 'whsec_c2VjcmV0',
    types: ['device.signal.online', 'call.ended', 'device.registry.changed'],
  },
];

/** The routes of the API, one row each; the pipeline does what a row declares. docs/openapi.yaml documents the same routes. */
import type { endpointCodes } from '../../model/codes.ts';
import { readCallBody } from '../../protocol/rest/call-credentials.ts';
import { decodeCallEndBody } from '../../protocol/rest/call-end.ts';
import { decodeConnectivityBatchBody } from '../../protocol/rest/connectivity-batch.ts';
import { decodeMessageBody, decodeWakeupOutcomeQuery } from '../../protocol/rest/device-requests.ts';
import { decodeEventsQuery } from '../../protocol/rest/events.ts';
import {
  decodeAdditions,
  decodeDeviceListing,
  decodeModification,
} from '../../protocol/rest/provisioning.ts';
import { decodeDeviceQuery } from '../../protocol/rest/shared-fields.ts';
import { callCredentials, callEnd, callStatus } from './call-endpoints.ts';
import { addDevices, changeDevice, listDevices, removeDevice } from './device-endpoints.ts';
import {
  deliverMessage,
  listEvents,
  parseWakeup,
  queryDevice,
  queryDevices,
  queryOutcome,
  wakeDevice,
} from './endpoints.ts';
import { coded, parsed, plain, type Route } from './route.ts';

export const apiRoutes: readonly (Route & { readonly name: keyof typeof endpointCodes })[] = [
  {
    name: 'connectivity',
    method: 'GET',
    path: '/v1/device/connectivity',
    permission: 'connectivity:read',
    limit: 'queries',
    ...plain,
    ...parsed(({ query }) => decodeDeviceQuery(query), queryDevice),
  },
  {
    name: 'connectivity-batch',
    method: 'POST',
    path: '/v1/devices/connectivity',
    permission: 'connectivity:read',
    // A batch costs one query per id; an unreadable one costs one query.
    limit: 'queries',
    ...plain,
    sendsRetryAfter: true,
    costOf: (deviceIds) => (deviceIds.ok ? (deviceIds.value as readonly string[]).length : 1),
    ...parsed(({ body }) => decodeConnectivityBatchBody(body), queryDevices),
  },
  {
    name: 'wakeup',
    method: 'POST',
    path: '/v1/device/wakeup-request',
    permission: 'wakeup:write',
    // Wakeups are limited after their other checks.
    limit: null,
    ...coded,
    successStatus: 202,
    acceptsRequestId: true,
    ...parsed(parseWakeup, wakeDevice),
    answered: (answered, { answeredWakeups }) => answeredWakeups.record(answered),
  },
  {
    name: 'wakeup-outcome',
    method: 'GET',
    path: '/v1/device/wakeup-request',
    permission: 'wakeup:write',
    limit: 'queries',
    ...coded,
    rechecksCredential: true,
    ...parsed(({ query }) => decodeWakeupOutcomeQuery(query), queryOutcome),
  },
  {
    name: 'message',
    method: 'POST',
    path: '/v1/device/message',
    permission: 'message:send',
    limit: 'messages',
    ...coded,
    ...parsed(({ body }) => decodeMessageBody(body), deliverMessage),
  },
  {
    name: 'events',
    method: 'GET',
    path: '/v1/events',
    permission: 'events:read',
    limit: 'eventReads',
    ...plain,
    rechecksCredential: true,
    ...parsed(({ query }) => decodeEventsQuery(query), listEvents),
  },
  {
    name: 'call-status',
    method: 'GET',
    path: '/v1/device/msgvoip-call-status',
    permission: 'call:read',
    limit: 'queries',
    ...plain,
    unverifiedCode: 50000,
    ...parsed(({ query }) => decodeDeviceQuery(query), callStatus),
  },
  {
    name: 'call-end',
    method: 'POST',
    path: '/v1/device/msgvoip-call/end',
    permission: 'call:end',
    limit: 'callEnds',
    ...plain,
    ...parsed(({ body }) => decodeCallEndBody(body), callEnd),
  },
  {
    name: 'call-credentials',
    method: 'POST',
    path: '/v1/token/msgvoip',
    permission: 'call:issue',
    limit: 'issuances',
    ...plain,
    envelope: 'msg',
    ...parsed(({ body }, { mixedFormats }) => readCallBody(body, mixedFormats), callCredentials),
  },
  {
    name: 'devices-list',
    method: 'GET',
    path: '/v1/devices',
    permission: 'device:read',
    limit: 'provisionings',
    ...coded,
    ...parsed(({ query }) => decodeDeviceListing(query), listDevices),
  },
  {
    name: 'devices-add',
    method: 'POST',
    path: '/v1/devices',
    permission: 'device:write',
    limit: 'provisionings',
    ...coded,
    recordsAddress: true,
    ...parsed(({ body }, { secretRules }) => decodeAdditions(body, secretRules), addDevices),
  },
  {
    name: 'device-change',
    method: 'PATCH',
    path: '/v1/devices',
    permission: 'device:write',
    limit: 'provisionings',
    ...coded,
    recordsAddress: true,
    ...parsed(({ body }, { secretRules }) => decodeModification(body, secretRules), changeDevice),
  },
  {
    name: 'device-remove',
    method: 'DELETE',
    path: '/v1/devices',
    permission: 'device:write',
    limit: 'provisionings',
    ...coded,
    recordsAddress: true,
    ...parsed(({ query }) => decodeDeviceQuery(query, 'device-remove'), removeDevice),
  },
];

/** Changes of devices as a worker hands them to the process that changes the registry, and what became of them. */
import { z } from 'zod';
import { provisioningCodes, type ProvisioningCode, type Refusal } from '../../model/codes.ts';
import { labelsFault, secretFault } from '../../model/device-terms.ts';
import { parseAccessKeyId, type AccessKeyId } from '../../model/ids.ts';
import { devicesAddedMax } from '../../model/provisioning-limits.ts';
import type {
  DeviceEntry,
  DeviceOrder,
  DeviceOutcome,
  ProvisioningRequest,
} from '../../model/provisioning.ts';
import type { Labels } from '../../model/registry.ts';
import { refusalOf } from './member-values.ts';
import { applicationId, deviceId, line, productId, signedRequest, whole } from './wire-values.ts';

/** Whether it may be short was decided where it came in. */
const secret = z.string().refine((text) => secretFault(text, true) === null);
const labels = z.custom<Labels>((value) => labelsFault(value) === null);
const labelChanges = z.custom<Readonly<Record<string, string | null>>>(
  (value) => labelsFault(value, true) === null,
);
const accessKeyId = z.custom<AccessKeyId>(
  (value) => typeof value === 'string' && parseAccessKeyId(value) !== null,
);
const expiresAt = whole.nullable();

const order: z.ZodType<DeviceOrder> = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('add'),
    deviceId,
    productId,
    secret: secret.nullable(),
    expiresAt,
    disabled: z.boolean(),
    labels: labels.nullable(),
  }),
  z.strictObject({
    kind: z.literal('change'),
    deviceId,
    secret: z.union([secret, z.literal(true)]).exactOptional(),
    expiresAt: expiresAt.exactOptional(),
    disabled: z.boolean().exactOptional(),
    labels: labelChanges.exactOptional(),
  }),
  z.strictObject({ kind: z.literal('remove'), deviceId }),
]);

export const provisioningRequest: z.ZodType<ProvisioningRequest> = z.strictObject({
  caller: z.strictObject({ appId: applicationId, accessKeyId, from: line }),
  orders: z.array(order).min(1).max(devicesAddedMax),
  ...signedRequest,
});

const entry: z.ZodType<DeviceEntry> = z.strictObject({
  deviceId,
  productId,
  expiresAt,
  disabled: z.boolean(),
  labels: labels.exactOptional(),
});

const outcome: z.ZodType<DeviceOutcome> = z.strictObject({
  deviceId,
  code: z.literal([0, 40003, 40302, 40403, 40904]),
  device: entry.nullable(),
  secret: secret.nullable(),
  isChanged: z.boolean(),
});

export const deviceOutcomes = z.array(outcome).max(devicesAddedMax);

export const provisioningRefusal: z.ZodType<Refusal<ProvisioningCode>> = refusalOf(provisioningCodes);

/** Why a receiver was not reached, in a sentence for an operator. */

const untrusted: ReadonlySet<unknown> = new Set([
  'CERT_UNTRUSTED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

export function describeTransportError(error: NodeJS.ErrnoException): string {
  if (untrusted.has(error.code))
    return `the receiver's certificate is not trusted (${error.code}); name its authority's file in NODE_EXTRA_CA_CERTS`;
  // One for each address that was tried.
  const causes = error instanceof AggregateError ? (error.errors as Error[]) : [error];
  return causes.map(({ message }) => message).join('; ') || (error.code ?? 'the connection failed');
}

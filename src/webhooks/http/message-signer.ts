/** The headers of a message by Standard Webhooks, made by its own library. */
import { Webhook as StandardWebhook } from 'standardwebhooks';
import type { WebhookMessage } from '../../core/ports/webhook-sender.ts';

export class MessageSigner {
  readonly #signer: StandardWebhook;

  /** Throws when the secret is not Base64, with `whsec_` before it or not: nothing can be signed with it then. */
  constructor(secret: string) {
    this.#signer = new StandardWebhook(secret);
  }

  /** `wallMs`: of this attempt, which receivers hold against their own clocks. */
  sign({ id, body }: WebhookMessage, wallMs: number): Record<string, string> {
    const at = new Date(wallMs);
    return {
      'webhook-id': id,
      'webhook-timestamp': String(Math.floor(wallMs / 1000)),
      'webhook-signature': this.#signer.sign(id, at, body),
    };
  }
}

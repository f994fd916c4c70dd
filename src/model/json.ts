/** A JSON object from outside, its values not validated. */
export type JsonObject = { readonly [key: string]: unknown };

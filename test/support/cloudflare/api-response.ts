/** Cloudflare's envelope. */

export type ApiResponse = { status: number; body: unknown };

/** Returns the envelope of a result. */
export function result(value: unknown, info: object = {}): ApiResponse {
  return {
    status: 200,
    body: { success: true, errors: [], messages: [], result: value, ...info },
  };
}

const MAX_PER_PAGE = 100;

/** Returns one page of a list, and the number of pages. */
export function page(items: readonly unknown[], query: URLSearchParams): ApiResponse {
  const number = Number(query.get('page') ?? '1');
  const size = Math.min(Number(query.get('per_page') ?? '20'), MAX_PER_PAGE);
  const result_info = {
    page: number,
    per_page: size,
    total_count: items.length,
    total_pages: Math.ceil(items.length / size),
  };
  return result(items.slice((number - 1) * size, number * size), { result_info });
}

/** A rejection, in Cloudflare's envelope. */
export class ApiFault extends Error {
  readonly response: ApiResponse;

  constructor(status: number, code: number, message: string) {
    super(message);
    this.response = {
      status,
      body: { success: false, errors: [{ code, message }], messages: [], result: null },
    };
  }
}

/** Texts that PostgreSQL accepts as a UUID; for others its error would abort the transaction. */
export const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

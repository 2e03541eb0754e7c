export function importTable(): string;
export function withImportTable(page: string): string;

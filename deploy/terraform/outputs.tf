output "namespace" {
  description = "Where Recollect runs."
  value       = "recollect"
}

output "service" {
  description = "The service to route requests for var.host to."
  value       = "recollect-server"
}

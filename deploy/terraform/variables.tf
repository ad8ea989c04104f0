variable "repository" {
  description = "The git repository with deploy/kustomize."
  type        = string
}

variable "release" {
  description = "The tag to deploy."
  type        = string
}

variable "image" {
  description = "The image that was built from deploy/Containerfile, without its tag."
  type        = string
}

variable "image_tag" {
  description = "The tag of the image."
  type        = string
}

variable "host" {
  description = "The public name of the server."
  type        = string
}

variable "trusted_proxies" {
  description = "Networks of the ingress controller."
  type        = list(string)
}

variable "backup_destination" {
  description = "Where CloudNativePG stores backups, such as s3://bucket/path/."
  type        = string
}

variable "storage_size" {
  description = "The volume of each database instance."
  type        = string
  default     = "50Gi"
}

variable "overlay" {
  description = "What to apply: base, overlays/image-volume or overlays/restore."
  type        = string
  default     = "overlays/image-volume"

  validation {
    condition     = contains(["base", "overlays/image-volume", "overlays/restore"], var.overlay)
    error_message = "Name base, overlays/image-volume or overlays/restore."
  }
}

variable "flux_namespace" {
  description = "The namespace of Flux."
  type        = string
  default     = "flux-system"
}
